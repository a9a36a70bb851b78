package placement

// Distance returns how far two regions are apart, zero for the same. Their distance in miles is not known, so it is the
// number of letters in which the names differ (Levenshtein): clouds name their regions after continent, direction and
// number, so that neighbours have similar names. Only distances to one region can be compared.
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, letter := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, other := range to {
			changed := diagonal
			if letter != other {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, diagonal+1, row[j]+1)
		}
	}
	return row[len(to)]
}
