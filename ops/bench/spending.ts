import { readFile } from 'node:fs/promises';

/** Processor time of processes from now on, in ms for each of so many; null where the system does not tell. */
export async function spending<Name extends string>(pids: Record<Name, number>) {
  const read = () => Promise.all(Object.values<number>(pids).map(processorMs));
  const before = await read();
  return async (count: number) => {
    const after = await read();
    const msEach = after.map((ms, index) => {
      const from = before[index];
      return ms === null || from === null || from === undefined ? null : Number(((ms - from) / count).toFixed(3));
    });
    return Object.fromEntries(Object.keys(pids).map((name, index) => [name, msEach[index]]));
  };
}

/** Processor time of a process so far. Linux counts in ticks of 10 ms, in the 14th and 15th fields; the second is a name in brackets. */
export async function processorMs(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
