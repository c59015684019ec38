"""The report of the run doctor as a view."""

from minitorch.testing import doctor
from minitorch.viz.checkups import Checkup
from tests.helpers.view_checks import check
from tests.testing.doctor_cases import FAULTS, HEALTHY, examine


def test_the_report_is_a_view(tmp_path):
    patient = examine(FAULTS["rate_too_high"][0])
    source = patient._repr_html_()
    assert "learning rate too high" in source and "update : weight" in source
    for suffix in ("html", "svg", "txt"):
        assert "learning rate" in patient.save(tmp_path / f"report.{suffix}").read_text()
    check(Checkup(patient))
    check(Checkup(examine(HEALTHY["without_modules"])))
    assert "nothing was seen" in Checkup(doctor()).svg()
