import { readdir, readFile } from 'node:fs/promises';

/**
 * Processor time from now on of processes and all that they have started, apart from those that are named themselves, in ms for each
 * of so many; null where the system does not tell.
 */
export async function spending<Name extends string>(pids: Partial<Record<Name, number>>) {
  const all = Object.entries<number | undefined>(pids).flatMap(([name, pid]) => (pid ? [{ name, pid }] : []));
  const read = async () => {
    const processes = await readProcesses();
    return all.map(({ pid }) => treeMs(processes, pid, new Set(all.map((one) => one.pid))));
  };
  const before = await read();
  return async (count: number): Promise<Partial<Record<Name, number | null>>> => {
    const after = await read();
    const msEach = after.map((ms, index) => {
      const from = before[index];
      return ms === null || from === null || from === undefined ? null : Number(((ms - from) / count).toFixed(4));
    });
    // The names of `pids`.
    return Object.fromEntries(all.map(({ name }, index) => [name, msEach[index]])) as Partial<
      Record<Name, number | null>
    >;
  };
}

/** Processor time of a process so far. Linux counts in ticks of 10 ms, in the 14th and 15th fields; the second is a name in brackets. */
export async function processorMs(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

interface Process {
  parent: number;
  /** Ticks of its own, and those of its children that have ended. */
  own: number;
  ended: number;
}

async function readProcesses(): Promise<Map<number, Process>> {
  const names = await readdir('/proc').catch(() => []);
  const processes = new Map<number, Process>();
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => null);
    if (stat === null) continue;
    // The second field is a name in brackets; the times are the 14th to 17th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map((at) =>
      Number(fields[at]),
    );
    processes.set(Number(name), { parent, own: user + system, ended: endedUser + endedSystem });
  }
  return processes;
}

function treeMs(processes: ReadonlyMap<number, Process>, pid: number, named: ReadonlySet<number>): number | null {
  const root = processes.get(pid);
  if (!root) return null;
  let ticks = root.own + root.ended;
  for (const [child, { parent }] of processes)
    if (parent === pid && !named.has(child)) ticks += (treeMs(processes, child, named) ?? 0) / 10;
  return ticks * 10;
}
