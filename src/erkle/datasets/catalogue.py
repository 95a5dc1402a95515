"""The catalogue of published data sets: descriptions, addresses, file names and checksums.

The SHA-256 of a source was computed from the file itself or published with it; None means that no checksum is known.
The digest of an entry is computed from its answers by `digest`, so it is the same for every file that holds them. The
data sets themselves are not part of this package.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Source(NamedTuple):
    """The address of a public file, and its SHA-256."""

    url: str
    sha256: str | None

    @property
    def file(self) -> str:
        """The name of the downloaded file."""
        return self.url.rsplit("/", 1)[-1]


class Part(NamedTuple):
    """A file that `load` reads, either directly or from a ZIP archive. Sources are tried in order."""

    name: str
    sources: tuple[Source, ...]
    aliases: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """File names that the part, or an archive that contains it, may have in a folder."""
        return tuple(
            dict.fromkeys((self.name, *self.aliases, f"{self.name}.zip", *(source.file for source in self.sources)))
        )


class Entry(NamedTuple):
    """The description of a data set."""

    name: str
    title: str
    n_objects: int
    n_triplets: int
    parts: tuple[Part, ...]
    licence: str
    citation: str
    notes: str
    digest: str | None
    shared_folder: str | None = None  # the folder of an archive that holds several data sets
    rows_per_answer: int = 1  # number of consecutive rows that one answer gives
    learns_repeats: bool = True  # False: `load` drops repeated rows
    rows_file: str = "triplets.csv"  # the table with all rows, including those that `load` drops
    columns_file: str = ""  # the table with further columns for all rows
    columns: Mapping[str, str] = {}  # header of each further column in the file: its name in the data set

    @property
    def folder(self) -> str:
        """The name of the folder for downloaded files."""
        return self.shared_folder or self.name

    @property
    def description(self) -> str:
        """A paragraph about the data set."""
        return (
            f"{self.title}: {self.n_triplets:,} answers about {self.n_objects} objects. {self.notes}"
            f" Cite {self.citation}. Licence: {self.licence}."
        )


def entry_of(name: str) -> Entry:
    """The entry of a data set; a `ValueError` lists the known names."""
    if name not in CATALOGUE:
        raise ValueError(f"There is no data set {name!r}; choose from {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def digest(T: NDArray[np.int64]) -> str:
    """SHA-256 of the answers in sorted order, as 64-bit little-endian integers."""
    return hashlib.sha256(T[np.lexsort(T.T[::-1])].astype("<i8").tobytes()).hexdigest()


_GITHUB = "https://raw.githubusercontent.com"
_SALMON = f"{_GITHUB}/stsievert/salmon"
_SURVEY = Source(
    f"{_GITHUB}/compmusMIR/exp-mcfee2009/ce1c4ed748120aa0de148fd9cfc0ad159a3295b8/filtered-survey.txt",
    "8e9e5fb26e2c5eb0a8681144a8c0cd28c89b6d261c779cd3e512a637b247f928",
)
_MUSIC_MATRIX = Source(
    f"{_GITHUB}/cblearn/cblearn-benchmark/640efc7b43591a3c2442581fd0d6a5ac1d8676af/lib/vanderMaaten_STE/data/music_triplets.mat",
    "ce7b33bbb208ea9e441f2860d59574a98272a0d110fc1b4d9e96d4c88d59b313",
)
_MUSICIAN_NAMES = Source(
    f"{_GITHUB}/cblearn/cblearn/d0beebfd08f4f76f88506386f6000fef051ec298/cblearn/datasets/data/musician_names.txt",
    "d909ba18c81ef9e4ef0eceb6b4cad97128e18737926246a3440caca1137b75cf",
)
_FOOD_ARCHIVE = Source(
    "http://vision.cornell.edu/se3/wp-content/uploads/2014/09/food100-dataset.zip",
    "18f5e210174dfdbf6a7b4ed7538cf8ba53fd65e0cbe193519231b8ab4ea8fc62",
)
_FOOD_TABLE = Source(
    f"{_GITHUB}/mperrot/AddS-Clustering/40c7658248c749dce9639c3eef3d9e9215d875b4/resources/food/all-triplets.csv", None
)
_CARS_TABLE = Source(
    f"{_GITHUB}/mperrot/ComparisonHC/3bed0d9d445c2c5a89fe0f9fb22047aa7b23960c/resources/car/survey_data.csv",
    "479eeb0252b6d4dcd9d80b6bbb20bc1d127c627857e2a8af7e0567d82afa0494",
)
_CARS_ARCHIVE = Source(
    "http://www.tml.cs.uni-tuebingen.de/team/luxburg/code_and_data/60_cars_data.zip",
    "5fa2ad932d48adf5cfe36bd16a08b25fd88d1519d974908f6ccbba769f629640",
)
_SHOES_TABLE = Source(
    f"{_SALMON}/3e92c9c6c364c0a15a6f344607324b8f83d914eb/examples/zappos/_raw/deconflicted_triplets.csv.zip", None
)
_SHOES_ARCHIVE = Source("http://hdc.cs.arizona.edu/people/berger/triplet/zappos.zip", None)
_EGGS_ARCHIVE = Source(
    f"{_SALMON}/3e92c9c6c364c0a15a6f344607324b8f83d914eb/examples/alien-eggs/response-model-n=300/responses.csv.zip",
    None,
)
_EGGS_TABLE = Source(
    f"{_SALMON}/643d7198a8d3fc923772387f440abffdb965b070/examples/datasets/strange-fruit-triplet/responses.csv", None
)
_NATURE_VOGUE = Source(
    "http://anttiukkonen.com/nature_and_vogue_triplets.zip",
    "db4718bb742a2492dee87e94daead3070b2afa3a9174aa717be336940e47e3cc",
)
_MUSICIANS = Part("musician_names.txt", (_MUSICIAN_NAMES,), aliases=("cblearn_musician_names.txt",))


def _odd_one_out(name: str, objects: str, n_objects: int, n_answers: int) -> Entry:
    """The entry of nature or vogue, which were published in one archive."""
    return Entry(
        name=name,
        title=f"Similarity of {objects} (odd one out)",
        n_objects=n_objects,
        n_triplets=2 * n_answers,
        parts=(Part(f"{name}_triplets.txt", (_NATURE_VOGUE,)),),
        licence="none stated",
        citation="Heikinheimo, Ukkonen, The Crowd-Median Algorithm, HCOMP 2013",
        notes=f"Each of the {n_answers:,} answers gives two consecutive rows; split by the column answer.",
        digest=None,
        shared_folder="nature_vogue",
        rows_per_answer=2,
    )


CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry(
            name="aset400",
            title="Similarity of musicians (the music data of the paper)",
            n_objects=412,
            n_triplets=16_331,
            parts=(Part("filtered-survey.txt", (_SURVEY,)), _MUSICIANS),
            licence="none stated for the data; the repositories that host it are under MIT",
            citation="Ellis, Whitman, Berenzweig, Lawrence, The Quest for Ground Truth in Musical Artist Similarity,"
            " ISMIR 2002; McFee, Lanckriet, ISMIR 2009 and JMLR 2011",
            notes="The 16,385 rows of the survey about the 412 listed artists, without 54 rows that name one artist"
            " twice. Many rows are repeated or contradicted, and one judgement gives several rows; split by question."
            " The columns are judgement and participant. 12 artists appear in no answer.",
            digest="ea1ce531506d3bbccd6d0af522d6584c2201c46cc8acfc4fe01670ceff69ce3d",
            rows_file="triplets_16385.csv",
            columns_file="triplets_16385_judgement_user.csv",
            columns={"judgement": "judgement", "user": "participant"},
        ),
        Entry(
            name="aset400_vdm",
            title="Similarity of musicians (without conflicts)",
            n_objects=412,
            n_triplets=9_090,
            parts=(Part("music_triplets.mat", (_MUSIC_MATRIX,)), _MUSICIANS),
            licence="none stated for the data; the code beside it is free for non-commercial use",
            citation="van der Maaten, Weinberger, Stochastic Triplet Embedding, MLSP 2012; Ellis, Whitman, Berenzweig,"
            " Lawrence, ISMIR 2002",
            notes="The 9,107 rows of aset400 that remain without repeats, conflicts and short cycles, without 17 rows"
            " that name one artist twice. The objects are those of aset400.",
            digest="d4d06d6fc6b6c50aba843038b763248c57bb6f9d9de6def2a73cf79b889ed81b",
            rows_file="triplets_9107.csv",
        ),
        Entry(
            name="food100",
            title="Similarity of dishes by taste",
            n_objects=100,
            n_triplets=190_376,
            parts=(Part("all-triplets.csv", (_FOOD_ARCHIVE, _FOOD_TABLE), aliases=("raw-json",)),),
            licence="copyrighted pictures, under the educational fair use exemption of United States law",
            citation="Wilber, Kwak, Belongie, Cost-Effective HITs for Relative Similarity Comparisons, HCOMP 2014",
            notes="The distinct rows among 250,320 answers. One screen gives up to 48 answers, so they are not"
            " independent. All rows of the raw screens (a folder raw-json) have the columns participant and screen.",
            digest="667a228106714e3e7dc4e1178a680746bd42f01bba3d830ce768b1320b6846d7",
            learns_repeats=False,
            rows_file="triplets_all.csv",
        ),
        Entry(
            name="cars60",
            title="Similarity of cars (most central of three)",
            n_objects=60,
            n_triplets=14_194,
            parts=(Part("survey_data.csv", (_CARS_TABLE, _CARS_ARCHIVE)),),
            licence="none stated for the answers (please cite); the pictures are in the public domain",
            citation="Kleindessner, von Luxburg, Lens Depth Function and k-Relative Neighborhood Graph, JMLR 18(58),"
            " 2017",
            notes="Each of the 7,097 answers gives two consecutive rows; split by the column answer. The published file"
            " adds the columns round (146 rounds, each by one person) and response_time (in seconds).",
            digest="686ff27fe34bee973c266689c7757df882f7e6e6aa66733a3d4772abaf5686e3",
            rows_per_answer=2,
        ),
        Entry(
            name="zappos85",
            title="Similarity of shoes",
            n_objects=85,
            n_triplets=283_770,
            parts=(Part("deconflicted_triplets.csv", (_SHOES_TABLE, _SHOES_ARCHIVE)),),
            licence="none stated for the data; the repository that hosts it is under BSD-3-Clause",
            citation="Heim, Berger, Seversky, Hauskrecht, Active Perceptual Similarity Modeling with Auxiliary"
            " Information, arXiv 1511.02254",
            notes="Nearly every possible question, answered once. Contradictions across several questions remain.",
            digest="560256eaf31e2266f476e0bf6b63eec084e0816430ec489c35e4531a88fd1fea",
        ),
        Entry(
            name="eggs300",
            title="Similarity of drawn eggs that differ in one dimension",
            n_objects=300,
            n_triplets=17_611,
            parts=(Part("responses.csv", (_EGGS_ARCHIVE, _EGGS_TABLE)),),
            licence="BSD-3-Clause",
            citation="the examples of Salmon, github.com/stsievert/salmon",
            notes="The number in an object's name gives the true order; 86 % of the answers agree with it. The columns"
            " are participant (231 people), algorithm (the one that chose the question) and set (Train or Test).",
            digest="2f9bb36cdea818c35a761796e0e8f350b93fa7b9c60f14258a1ebf011c4b0708",
            columns_file="algorithm.csv",
            columns={"participant.id": "participant", "origalg.label": "algorithm", "alg.label": "set"},
        ),
        _odd_one_out("nature", "scenes in nature", n_objects=120, n_answers=3_355),
        _odd_one_out("vogue", "magazine covers", n_objects=60, n_answers=1_107),
    )
}
