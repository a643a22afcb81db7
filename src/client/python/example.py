"""Films in, counts out: python3 example.py http://localhost:9867"""

import sys
from datetime import datetime, timezone

from lake_data_service import Conflict, connect

with connect(sys.argv[1] if len(sys.argv) > 1 else None) as lake:
    try:
        films = lake.create_pool("films", keys=["title"])
    except Conflict:
        films = lake.pool("films")
    main = films.branch()
    added = datetime(2026, 11, 1, tzinfo=timezone.utc)
    main.load(
        [
            {"title": "Metropolis", "year": 1927, "added": added},
            {"title": "M", "year": 1931, "added": added, "tags": ["crime", "sound"]},
        ],
        message="two films of Fritz Lang",
    )
    trial = films.create_branch("trial")
    trial.delete_where("year < 1930")
    for row in lake.query("from films@trial | select title, year"):
        print(row)
    main.merge("trial")
    print(lake.query("select count(*) as films from films").first())
