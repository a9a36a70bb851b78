package dashboards

// controllers shows what the programs of a landscape serve: `transplant scrape-targets` lets a Prometheus find them.
func controllers() Board {
	rate := func(by, series string) string { return `sum by (` + by + `) (rate(` + series + `[$__rate_interval]))` }
	quantile := func(q, by, series string) string {
		return `histogram_quantile(` + q + `, ` + rate("le, "+by, series+`_bucket{FILTER}`) + `)`
	}
	return Board{
		UID: "transplant-controllers", Title: "transplant: controllers",
		About:     "What the controllers of a landscape do, and what they cost; of one that runs.",
		Variables: []Variable{{"cluster", `up{actor!=""}`}, {"actor", `up{cluster=~"$cluster",actor!=""}`}}, Range: "15m",
		Refresh: "5s", Live: true,
		Empty: "No program is scraped, or none has done this yet. Start a landscape and \"transplant scrape-targets\".",
		Panels: []Panel{
			{Title: "Programs", About: "That are there and can be scraped, by cluster.", Kind: "timeseries", Unit: "short",
				Green: green(1), Queries: []Query{
					over("{{actor}} on {{cluster}}", `sum by (cluster, actor) (up{FILTER})`)}},
			{Title: "Reconciliations", About: "By controller and result.", Kind: "timeseries", Unit: "reqps", Queries: []Query{
				over("{{actor}} {{controller}} {{result}}",
					rate("actor, controller, result", `controller_runtime_reconcile_total{FILTER}`))}},
			{Title: "Reconciliations that failed", About: "By controller. Some are a matter of course: they wait for others.",
				Kind: "timeseries", Unit: "reqps", Queries: []Query{
					over("{{actor}} {{controller}}", rate("actor, controller", `controller_runtime_reconcile_errors_total{FILTER}`))}},
			{Title: "Time of reconciliations", About: "99th percentile, by controller.", Kind: "timeseries", Unit: "s",
				Red: red(10), Queries: []Query{
					over("{{actor}} {{controller}}",
						quantile("0.99", "actor, controller", `controller_runtime_reconcile_time_seconds`))}},
			{Title: "Waiting in queues", About: "How many objects wait for each controller.", Kind: "timeseries", Unit: "short",
				Queries: []Query{
					over("{{actor}} {{name}}", `sum by (actor, name) (workqueue_depth{FILTER})`)}},
			{Title: "Time in queues", About: "99th percentile, by controller.", Kind: "timeseries", Unit: "s", Red: red(10),
				Queries: []Query{
					over("{{actor}} {{name}}", quantile("0.99", "actor, name", `workqueue_queue_duration_seconds`))}},
			{Title: "Requests to API servers", About: "By program, method and code.", Kind: "timeseries", Unit: "reqps",
				Queries: []Query{
					over("{{actor}} {{method}} {{code}}", rate("actor, method, code", `rest_client_requests_total{FILTER}`))}},
			{Title: "Admission", About: "Requests to the garden's webhooks.", Kind: "timeseries", Unit: "reqps",
				Queries: []Query{
					over("{{webhook}} {{code}}", rate("webhook, code", `controller_runtime_webhook_requests_total{FILTER}`))}},
			{Title: "Runs of flows", About: "Creations, migrations, restores and so on so far, by how they ended.",
				Kind: "timeseries", Unit: "short", Queries: []Query{
					over("{{operation}} {{result}} on {{cluster}}",
						`sum by (operation, result, cluster) (shoot_flow_duration_seconds_count{FILTER})`)}},
			{Title: "Time of flows", About: "Mean of the runs so far, by operation.", Kind: "timeseries", Unit: "s",
				Queries: []Query{
					over("{{operation}} {{result}}",
						`sum by (operation, result) (shoot_flow_duration_seconds_sum{FILTER}) / sum by (operation, result) `+
							`(shoot_flow_duration_seconds_count{FILTER} > 0)`)}},
			{Title: "Shoots that are not well", About: "By the condition that is not True.", Kind: "timeseries", Unit: "short",
				Red: red(1), Queries: []Query{
					over("{{type}} {{status}} on {{cluster}}",
						`sum by (type, status, cluster) (care_shoot_conditions{status!="True",FILTER})`)}},
			{Title: "Shoots that are held back", About: "By the constraint that is not True.", Kind: "timeseries", Unit: "short",
				Red: red(1), Queries: []Query{
					over("{{type}} {{status}} on {{cluster}}",
						`sum by (type, status, cluster) (care_shoot_constraints{status!="True",FILTER})`)}},
			{Title: "Changes of conditions", About: "And of constraints, by what they became.", Kind: "timeseries",
				Unit: "short", Queries: []Query{
					over("{{type}} {{status}}",
						`sum by (type, status) (increase(care_condition_changes_total{FILTER}[$__rate_interval]))`)}},
			{Title: "Maintenances", About: "By how they ended.", Kind: "timeseries", Unit: "short", Queries: []Query{
				over("{{result}}", `sum by (result) (increase(maintenance_runs_total{FILTER}[$__rate_interval]))`)}},
			{Title: "Changes by maintenances", About: "Updates and rotations, and what became of them.", Kind: "timeseries",
				Unit: "short", Queries: []Query{
					over("{{of}} {{result}}", `sum by (of, result) (increase(maintenance_changes_total{FILTER}[$__rate_interval]))`)}},
			{Title: "Left-overs of deletions",
				About: "Objects that hold up the deletion of shoots, and those that lost their finalizers because they did not go.",
				Kind:  "timeseries", Unit: "short", Queries: []Query{
					over("{{step}} on {{cluster}}", `sum by (step, cluster) (cleanup_remaining_objects{FILTER})`),
					over("{{step}} finalized", `sum by (step) (cleanup_finalized_objects_total{FILTER})`)}},
			{Title: "Steps of clean-ups", About: "By how they ended.", Kind: "timeseries", Unit: "short", Queries: []Query{
				over("{{step}} {{result}}", `sum by (step, result) (increase(cleanup_steps_total{FILTER}[$__rate_interval]))`)}},
			{Title: "Time of clean-ups", About: "Mean of the steps that were done so far.", Kind: "timeseries", Unit: "s",
				Queries: []Query{
					over("{{step}}", `sum by (step) (cleanup_step_duration_seconds_sum{FILTER}) / sum by (step) `+
						`(cleanup_step_duration_seconds_count{FILTER} > 0)`)}},
			{Title: "Validity of guards", About: "How long each etcd may still be used without news of its ownership.",
				Kind: "timeseries", Unit: "s", Queries: []Query{
					over("{{namespace}} on {{cluster}}", `min by (namespace, cluster) (etcd_guard_validity_seconds{FILTER})`)}},
			{Title: "Backups of etcd", About: "Objects uploaded, by kind.", Kind: "timeseries", Unit: "reqps", Queries: []Query{
				over("{{namespace}} {{kind}}", rate("namespace, kind", `etcd_backup_uploads_total{FILTER}`))}},
			{Title: "Connections to gateways", About: "By port and what became of them; silent ones are probes.",
				Kind: "timeseries", Unit: "reqps", Queries: []Query{
					over("{{cluster}} {{port}} {{result}}", rate("cluster, port, result", `gateway_connections_total{FILTER}`))}},
			{Title: "Open connections of gateways",
				About: "That are carried, and how many were cut because ownership had lapsed.", Kind: "timeseries", Unit: "short",
				Queries: []Query{
					over("open on {{cluster}}", `sum by (cluster) (gateway_open_connections{FILTER})`),
					over("cut on {{cluster}}",
						`sum by (cluster) (increase(gateway_cut_connections_total{FILTER}[$__rate_interval]))`)}},
			{Title: "Bytes through gateways", About: "To clients and to API servers.", Kind: "timeseries", Unit: "Bps",
				Queries: []Query{
					over("to the {{to}} on {{cluster}}", rate("to, cluster", `gateway_passed_bytes_total{FILTER}`))}},
			{Title: "Routes of gateways", About: "Shoots that can be reached by name, by whether ownership is valid there.",
				Kind: "timeseries", Unit: "short", Queries: []Query{
					over("{{validity}} on {{cluster}}", `sum by (validity, cluster) (gateway_routes{FILTER})`)}},
			{Title: "Calls that the cloud answers",
				About: "By what was asked and the result; all but OK are refusals and faults.", Kind: "timeseries", Unit: "reqps",
				Queries: []Query{
					over("{{verb}} {{resource}} {{result}}", rate("verb, resource, result", `cloud_calls_total{FILTER}`))}},
			{Title: "Questions to DNS", About: "By the code of the answer.", Kind: "timeseries", Unit: "reqps", Queries: []Query{
				over("{{answer}}", rate("answer", `cloud_dns_questions_total{FILTER}`))}},
			{Title: "Machines", About: "That stand for nodes, by whether their node was ready at the last look.",
				Kind: "timeseries", Unit: "short", Queries: []Query{
					over("ready {{ready}}", `sum by (ready) (nodes_machines{FILTER})`)}},
			{Title: "Processor time", About: "By program, in cores.", Kind: "timeseries", Unit: "short", Queries: []Query{
				over("{{actor}} on {{cluster}}", rate("actor, cluster", `process_cpu_seconds_total{FILTER}`))}},
			{Title: "Memory", About: "Resident, by program.", Kind: "timeseries", Unit: "bytes", Queries: []Query{
				over("{{actor}} on {{cluster}}", `sum by (actor, cluster) (process_resident_memory_bytes{FILTER})`)}},
		},
	}
}
