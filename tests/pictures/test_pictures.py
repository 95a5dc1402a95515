"""Pictures: any data and any text can be drawn, names do not collide, and no settings change."""

import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from erkle.datasets import load_cities
from erkle.pictures import errors_figure, labels, map_figure, maps_figure, reliability_figure, save
from erkle.pictures.maps import TO_CONES, TO_LINEAR, place_colours
from erkle.pictures.style import COLOURS, picture_style, plain

ODD_NAMES = [
    "$x^2$",
    "$",
    "a_b{c}",
    "\\frac{1}{2} %s",
    "new\nline and\ttab",
    "\x00\x1b[31m",
    "😀 👨‍👩‍👧",
    "漢字",
    "שלום عربى",
    "हिन्दी",
    "e\u0301\u0301",
    "\ud800",
    "",
    "x" * 500,
    "ﷺ",
    "\uffff",
]


def texts(figure, axes=0):
    return [text.get_text() for text in figure.axes[axes].texts]


def dots(figure):
    return figure.axes[0].collections[-1].get_offsets()


def boxes(figure, artists):
    """Left, bottom, right and top of what is drawn, in pixels."""
    with picture_style():
        renderer = figure.canvas.get_renderer()
        return np.array([artist.get_window_extent(renderer).extents for artist in artists])


def overlap(A, B):
    return bool(A[0] < B[2] and B[0] < A[2] and A[1] < B[3] and B[1] < A[3])


def collide(figure, artists):
    drawn = boxes(figure, artists)
    # The boxes are as high as whole lines, so descenders may touch ascenders.
    drawn += np.array([0, 2, 0, -2])
    return any(overlap(drawn[i], drawn[j]) for i in range(len(drawn)) for j in range(i))


def places(seed, n_objects, width=2):
    return np.random.default_rng(seed).normal(size=(n_objects, width))


@pytest.mark.parametrize(("n_objects", "n_components"), [(1, 2), (2, 3), (5, 1), (60, 2), (412, 2)])
def test_names_neither_collide_nor_leave_the_map(n_objects, n_components):
    figure = map_figure(places(0, n_objects, n_components), [f"the object {i}" for i in range(n_objects)])
    shown = figure.axes[0].texts
    assert shown
    assert not collide(figure, shown)
    left, bottom, right, top = figure.axes[0].get_window_extent().extents
    drawn = boxes(figure, shown)
    assert drawn[:, 0].min() >= left - 1
    assert drawn[:, 1].min() >= bottom - 1
    assert drawn[:, 2].max() <= right + 1
    assert drawn[:, 3].max() <= top + 1


def test_the_name_of_every_city_is_shown():
    cities = load_cities()
    assert sorted(texts(map_figure(cities.positions, cities.names))) == sorted(cities.names)


def test_a_map_has_a_note_below_it_and_grey_dots():
    figure = map_figure(places(0, 3), note="2 of 5 dimensions", grey=[False, True, False])
    [axes] = figure.axes
    assert axes.get_xlabel() == "2 of 5 dimensions"
    figure.canvas.draw()
    assert axes.xaxis.label.get_window_extent().y0 >= 0
    first, second, third = axes.collections[0].get_facecolor().tolist()
    assert first == third != second


def test_both_axes_of_a_map_have_the_same_scale():
    figure = map_figure(places(0, 20) * [10, 1], title="flat")
    transform = figure.axes[0].transData.transform
    across, up = transform([[1, 0], [0, 1]]) - transform([0, 0])
    assert across[0] == pytest.approx(up[1])


def test_any_name_can_be_drawn(tmp_path):
    figure = map_figure(places(0, len(ODD_NAMES)), ODD_NAMES, title="".join(ODD_NAMES))
    assert save(figure, tmp_path / "map.png").stat().st_size > 0
    errors = errors_figure([1, 2], {name: [0.5, 0.4] for name in ODD_NAMES}, title="".join(ODD_NAMES))
    assert save(errors, tmp_path / "errors.png").stat().st_size > 0


@settings(max_examples=15)
@given(name=st.text(max_size=20))
def test_any_text_can_be_drawn(name):
    figure = map_figure([[0, 0], [1, 1]], [name, "b"], title=name)
    figure.canvas.draw()
    np.testing.assert_allclose(dots(figure), [[0, 0], [1, 1]])
    # A name without visible characters is not drawn.
    assert texts(figure) == [shown for shown in (plain(name), "b") if shown.strip()]


def test_names_are_not_interpreted_as_mathematics():
    assert "$x^2$" in texts(map_figure([[0, 0], [1, 1]], ["$x^2$", "b"]))


def test_long_names_end_in_an_ellipsis_and_line_breaks_become_spaces():
    assert texts(map_figure([[0, 0]], ["a\nb " + "c" * 100])) == ["a b " + "c" * 19 + "…"]


@pytest.mark.parametrize(
    "X",
    [np.zeros((6, 2)), np.full((3, 2), 1e12), [[0, 0], [0, 1e-9]], [[-1e9, 0], [1e9, 1]]],
    ids=["coincident", "far", "near", "wide"],
)
def test_any_places_can_be_drawn(X, tmp_path):
    figure = map_figure(X, [str(i) for i in range(len(X))])
    assert save(figure, tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    np.testing.assert_allclose(dots(figure), X)
    left, bottom, right, top = figure.axes[0].get_window_extent().extents
    x, y = figure.axes[0].transData.transform(dots(figure)).T
    assert ((left <= x) & (x <= right) & (bottom <= y) & (y <= top)).all()
    assert not collide(figure, figure.axes[0].texts)


def test_a_map_of_thousands_of_objects_shows_the_names_that_fit():
    figure = map_figure(places(0, 5000), [f"object {i}" for i in range(5000)])
    assert 10 < len(figure.axes[0].texts) <= 300


def test_a_pair_of_maps_has_the_same_limits_and_colours():
    truth = places(0, 30)
    figure = maps_figure(truth + 0.1 * places(1, 30), truth, [f"o{i}" for i in range(30)], ("one", "two"))
    left, right = figure.axes
    assert left.get_xlim() == right.get_xlim()
    assert left.get_ylim() == right.get_ylim()
    dots = [axes.collections[-1] for axes in (left, right)]
    np.testing.assert_array_equal(dots[0].get_facecolor(), dots[1].get_facecolor())
    np.testing.assert_allclose(dots[1].get_offsets(), truth)
    assert [axes.get_title(loc="left") for axes in (left, right)] == ["one", "two"]


def test_colours_follow_places():
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 12), np.linspace(0, 1, 12)), axis=-1).reshape(-1, 2)
    colours = place_colours(grid)
    assert colours.min() >= 0
    assert colours.max() <= 1
    brightness = (colours @ [0.2126, 0.7152, 0.0722]).reshape(12, 12)
    assert np.all(np.diff(brightness, axis=0) > 0)
    assert np.abs(np.diff(colours.reshape(12, 12, 3), axis=1)).max() < 0.2
    assert len(np.unique(colours.round(3), axis=0)) == len(grid)


# Machado, Oliveira, Fernandes 2009, severity 1, on linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.mark.parametrize("seen", BLINDNESS.values(), ids=BLINDNESS)
def test_colours_of_curves_differ_with_every_kind_of_colour_blindness(seen):
    rgb = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in COLOURS])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen_linear = np.clip(linear @ np.transpose(seen), 0, 1)
    lab = np.cbrt(seen_linear @ np.linalg.inv(TO_LINEAR).T) @ np.linalg.inv(TO_CONES).T
    assert pdist(lab).min() > 0.1


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), n_points=st.integers(1, 40))
def test_placed_names_cover_no_point_and_no_name(seed, n_points):
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 300, size=(n_points, 2))
    sizes = np.stack([rng.uniform(5, 60, n_points), np.full(n_points, 9.0)], axis=1)
    low = labels.place(points, np.arange(n_points), sizes, (300.0, 300.0), gap=4.0)
    placed = np.isfinite(low[:, 0])
    rectangles = np.hstack([low, low + sizes])[placed]
    assert not any(overlap(a, b) for i, a in enumerate(rectangles) for b in rectangles[:i])
    for left, bottom, right, top in rectangles:
        assert 0 <= left < right <= 300
        assert 0 <= bottom < top <= 300
        inside = (points > [left, bottom]) & (points < [right, top])
        assert not inside.all(axis=1).any()


CURVES = {
    "one point": ([100], {"a": [0.2]}),
    "at zero": ([0], {"a": [1.0]}),
    "gaps": ([1, 2, 3, 4], {"a": [np.nan, 0.4, np.nan, 0.3], "b": [0.5, 0.4, np.nan, np.nan]}),
    "nothing": ([1, 2], {"a": [np.nan, np.nan]}),
    "none": ([1, 2], {}),
    "no error": ([1, 2], {"a": [0.0, 0.0]}),
    "all wrong": ([1, 2], {"a": [1.0, 1.0]}),
    "equal ends": (np.arange(100), {f"curve {i}": np.linspace(0.5, 0.2, 100) for i in range(9)}),
    "long": (np.arange(1, 200_001), {"a": np.random.default_rng(0).random(200_000)}),
}


@pytest.mark.parametrize(("n_answers", "curves"), CURVES.values(), ids=CURVES)
def test_any_curves_can_be_drawn_with_labels_that_do_not_collide(n_answers, curves, tmp_path):
    figure = errors_figure(n_answers, curves, title="errors")
    save(figure, tmp_path / "errors.png")
    assert not collide(figure, figure.axes[0].texts)


def test_labels_show_the_last_error_measured():
    figure = errors_figure([1, 2, 3], {"held out": [0.4, 0.25, np.nan], "empty": [np.nan] * 3})
    assert texts(figure) == ["held out 25.0 %"]


def test_labels_stay_within_the_picture():
    figure = errors_figure([1, 2], {"a rather long name of a curve, really": [0.4, 0.0], "b": [0.1, 0.4]})
    drawn = boxes(figure, figure.axes[0].texts)
    assert drawn[:, 2].max() <= figure.bbox.width
    assert drawn[:, 1].min() >= 0


def test_every_bin_with_answers_has_a_dot_and_a_bar():
    upper, lower = reliability_figure([5, 0, 20], [0.55, np.nan, 0.9], [0.4, np.nan, 0.95]).axes
    assert np.allclose(upper.collections[0].get_offsets(), [[55.0, 40.0], [90.0, 95.0]])
    assert upper.get_ylim()[0] <= 40.0
    assert [bar.get_height() for bar in lower.patches] == [5.0, 20.0]


def test_a_learner_without_predictions_has_neither_dots_nor_bars(tmp_path):
    figure = reliability_figure(np.zeros(10, int), np.full(10, np.nan), np.full(10, np.nan))
    assert save(figure, tmp_path / "empty.png").read_bytes().startswith(b"\x89PNG")
    upper, lower = figure.axes
    assert all(len(each.get_offsets()) == 0 for each in upper.collections)
    assert len(lower.patches) == 0


def test_the_line_of_guessing_is_drawn_if_the_axis_reaches_it():
    assert "guessing" in texts(errors_figure([1, 2], {"a": [1.0, 0.2]}))
    assert "guessing" not in texts(errors_figure([1, 2], {"a": [0.3, 0.2]}))


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg", "PNG"])
def test_the_suffix_gives_the_format(suffix, tmp_path):
    path = tmp_path / f"map.{suffix}"
    path.write_text("old")
    assert save(map_figure(places(0, 5)), str(path)) == path
    assert path.read_bytes()[:4] in (b"\x89PNG", b"%PDF", b"<?xm")
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_png_has_200_dots_per_inch(tmp_path):
    figure = map_figure(places(0, 5))
    header = save(figure, tmp_path / "map.png").read_bytes()[16:24]
    size = np.frombuffer(header, dtype=">u4")
    np.testing.assert_allclose(size, figure.get_size_inches() * 200, atol=1)


def test_a_failed_write_leaves_the_old_picture(tmp_path, monkeypatch):
    path = tmp_path / "map.png"
    path.write_text("old")
    figure = map_figure(places(0, 5))

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(figure.canvas, "print_png", fail)
    with pytest.raises(OSError, match="disk full"):
        save(figure, path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["map.png"]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_the_permissions_of_a_picture_follow_the_umask(tmp_path):
    mask = os.umask(0o022)
    try:
        path = save(map_figure(places(0, 2)), tmp_path / "map.png")
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o644


def test_the_users_settings_are_neither_used_nor_changed(tmp_path):
    import matplotlib

    plain = save(map_figure(places(0, 5), list("abcde"), "t"), tmp_path / "plain.png").read_bytes()
    with matplotlib.rc_context({"font.size": 30, "text.usetex": True, "savefig.bbox": "tight"}):
        before = dict(matplotlib.rcParams)
        other = save(map_figure(places(0, 5), list("abcde"), "t"), tmp_path / "other.png").read_bytes()
        errors_figure([1, 2], {"a": [0.2, 0.1]})
        assert dict(matplotlib.rcParams) == before
    assert other == plain


def test_threads_can_draw_at_the_same_time(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    failures = []

    def draw(i):
        try:
            save(map_figure(places(i, 10), [f"o{j}" for j in range(10)]), tmp_path / f"{i}.png")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=draw, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(list(tmp_path.iterdir())) == 4
    assert dict(matplotlib.rcParams) == before


def test_importing_pictures_imports_no_matplotlib_and_drawing_no_pyplot():
    code = (
        "import sys, erkle.pictures as p; assert 'matplotlib' not in sys.modules;"
        "p.map_figure([[0, 0]], ['a']).canvas.draw(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (lambda: map_figure([1, 2, 3]), ["X", "(3,)"]),
        (lambda: map_figure(np.ones((0, 2))), ["X", "(0, 2)"]),
        (lambda: map_figure([[0, np.nan]]), ["X", "NaN"]),
        (lambda: map_figure([[0, 0]], ["a", "b"]), ["2 names", "1 objects"]),
        (lambda: map_figure([[0, 0]], grey=[True, False]), ["grey", "(2,)", "1 objects"]),
        (lambda: maps_figure([[0, 0]], [[0, 0], [1, 1]]), ["1 objects", "2"]),
        (lambda: errors_figure([2, 1], {}), ["n_answers", "(2,)"]),
        (lambda: errors_figure([], {}), ["n_answers", "(0,)"]),
        (lambda: errors_figure([1, 2], {"a": [0.1]}), ["'a'", "(1,)", "(2,)"]),
        (lambda: errors_figure([1], {"a": [20]}), ["'a'", "0 to 1"]),
        (lambda: reliability_figure([1, 2], [0.5], [0.5]), ["(2,)", "(1,)"]),
        (lambda: reliability_figure([1], [55], [60]), ["0 to 1"]),
        (lambda: save(map_figure([[0, 0]]), "map"), ["'map'", ".png"]),
        (lambda: save(map_figure([[0, 0]]), "map.txt"), ["'map.txt'", ".png"]),
        (lambda: save(map_figure([[0, 0]]), ".png"), ["'.png'"]),
    ],
)
def test_wrong_data_are_refused_with_their_values(call, values):
    with pytest.raises(ValueError, match=".*".join(map(re.escape, values))):
        call()
