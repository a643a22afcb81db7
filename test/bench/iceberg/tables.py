"""Prints how many bytes pyarrow writes, with zstd, of all Parquet files below a folder: `tables.py FOLDER`."""
import glob
import io
import sys

import pyarrow.parquet as pq

total = 0
for path in glob.glob(f"{sys.argv[1]}/*/*"):
    with open(path, "rb") as file:
        if file.read(4) != b"PAR1":
            continue
    out = io.BytesIO()
    pq.write_table(pq.read_table(path), out, compression="zstd", row_group_size=100_000)
    total += out.getbuffer().nbytes
print(total)
