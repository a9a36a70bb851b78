package clustertest

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func controllerCases() []testCase {
	return []testCase{
		{"deployment-rolls-out", deploymentRollsOut},
		{"stateful-set-keeps-its-claim", statefulSetKeepsItsClaim},
		{"daemon-set", daemonSet},
		{"job-completes", jobCompletes},
		{"job-fails", jobFails},
	}
}

// template is the pod template of a controller.
func (f *fixture) template(steps string, options ...podOption) corev1.PodTemplateSpec {
	pod := f.newPod("web", steps, options...)
	pod.Name = ""
	return corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
}

var web = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

func deploymentRollsOut(f *fixture) {
	deployments := f.client.AppsV1().Deployments(f.namespace)
	_, err := deployments.Create(f.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(2)), Selector: web,
			Template: f.template("serve 8080", readiness(probing(httpGet("/", 8080), 3)),
				env(corev1.EnvVar{Name: "VERSION", Value: "1"})),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("create the deployment: %v", err)
	}
	rolledOut := func(ctx context.Context) error {
		d, err := deployments.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != 2 || s.AvailableReplicas != 2 ||
			s.Replicas != 2 {
			return fmt.Errorf("the status is %+v", s)
		}
		return nil
	}
	f.await("the first version", rolledOut)
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"VERSION","value":"2"}]}]}}}}`
	if _, err := deployments.Patch(f.Context(), "web", types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		f.Fatalf("change the deployment: %v", err)
	}
	f.await("the second version", rolledOut)
	pods, err := f.client.CoreV1().Pods(f.namespace).List(f.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		f.Fatal(err)
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil {
			continue
		}
		if output, _ := f.exec(pods.Items[i].Name, "c", "", "testpod", "env", "VERSION"); output != "VERSION=2\n" {
			f.Errorf("pod %s shows %q", pods.Items[i].Name, output)
		}
	}
}

func statefulSetKeepsItsClaim(f *fixture) {
	_, err := f.client.AppsV1().StatefulSets(f.namespace).Create(f.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To(int32(2)), Selector: web, ServiceName: "web",
			Template: f.template("count /data/n -- sleep", edit(func(c *corev1.Container) {
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: "/data"})
			})),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Mi")}},
				},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("create the stateful set: %v", err)
	}
	f.awaitPod("web-0", ready)
	f.awaitPod("web-1", ready)
	f.awaitLog("web-0", "c", "count 1")
	f.delete("web-0")
	f.awaitPod("web-0", ready)
	f.awaitLog("web-0", "c", "count 2")
	f.awaitLog("web-1", "c", "count 1")
}

func daemonSet(f *fixture) {
	sets := f.client.AppsV1().DaemonSets(f.namespace)
	_, err := sets.Create(f.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DaemonSetSpec{Selector: web, Template: f.template("sleep")},
	}, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("create the daemon set: %v", err)
	}
	f.await("a pod on each node", func(ctx context.Context) error {
		set, err := sets.Get(ctx, "web", metav1.GetOptions{})
		if err == nil && (set.Status.NumberReady == 0 || set.Status.NumberReady != set.Status.DesiredNumberScheduled) {
			err = fmt.Errorf("the status is %+v", set.Status)
		}
		return err
	})
}

func (f *fixture) job(steps string, tries, completions int32) {
	f.Helper()
	_, err := f.client.BatchV1().Jobs(f.namespace).Create(f.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec: batchv1.JobSpec{
			BackoffLimit: &tries, Completions: &completions, Parallelism: &completions,
			CompletionMode: ptr.To(batchv1.IndexedCompletion),
			Template:       f.template(steps, never),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("create the job: %v", err)
	}
}

func (f *fixture) awaitJob(condition batchv1.JobConditionType) *batchv1.Job {
	f.Helper()
	var job *batchv1.Job
	f.await("the job to be "+string(condition), func(ctx context.Context) error {
		var err error
		if job, err = f.client.BatchV1().Jobs(f.namespace).Get(ctx, "job", metav1.GetOptions{}); err != nil {
			return err
		}
		for _, c := range job.Status.Conditions {
			if c.Type == condition && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("the status is %+v", job.Status)
	})
	return job
}

func jobCompletes(f *fixture) {
	f.job("env JOB_COMPLETION_INDEX", 0, 2)
	if job := f.awaitJob(batchv1.JobComplete); job.Status.Succeeded != 2 || job.Status.Failed != 0 {
		f.Errorf("the status is %+v", job.Status)
	}
}

func jobFails(f *fixture) {
	f.job("exit 1", 0, 1)
	if job := f.awaitJob(batchv1.JobFailed); job.Status.Failed != 1 {
		f.Errorf("the status is %+v", job.Status)
	}
}
