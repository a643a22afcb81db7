let lastNs = 0n;

/** Nanoseconds since 1970; every call gives a later time than the one before, in steps of a microsecond when the clock's milliseconds do not move. */
export const nowNs = (): bigint => {
  const now = BigInt(Date.now()) * 1_000_000n;
  lastNs = now > lastNs ? now : lastNs + 1000n;
  return lastNs;
};
