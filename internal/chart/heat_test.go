package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestHeatIsBoundedAndWellFormed(t *testing.T) {
	rows := make([]HeatRow, 100)
	for i := range rows {
		rows[i].Name = "<core>"
		for j := range 5000 {
			rows[i].Values = append(rows[i].Values, math.Abs(math.Sin(float64(i*j))))
		}
		rows[i].Values[3] = math.NaN()
	}
	f := Heat("Cores", "busy", "time", "s", 0, 100, rows)
	if n := strings.Count(f.svg, "<rect"); n > maxHeatRows*(maxHeatColumns+1)+5 {
		t.Errorf("%d cells", n)
	}
	if len(f.table.Rows) != maxHeatRows {
		t.Errorf("%d rows in the table", len(f.table.Rows))
	}
	d := xml.NewDecoder(strings.NewReader(f.svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestHeatShowsOneBusyCore(t *testing.T) {
	f := Heat("Cores", "", "time", "s", 0, 4, []HeatRow{{"0", []float64{1, 1, 1, 1}}, {"1", []float64{0, 0, math.NaN(), .5}}})
	if got := f.table.Rows; got[0][1] != "100%" || got[1][2] != "50%" {
		t.Errorf("table %v", got)
	}
	// Four full cells are one; a half cell is another.
	if n := strings.Count(f.svg, `class="fill monolith"`); n != 5+2 {
		t.Errorf("%d filled cells in addition to the key's five", n-5)
	}
}
