import { readFileSync } from 'node:fs';
import { afterAll, beforeAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of the process that runs the file, and of those that this one has started and waited for. Only Linux tells the latter. */
    processorSeconds?: number;
  }
}

let began = 0;
beforeAll(() => {
  began = usedSeconds();
});
// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the first parameter which fixtures a hook uses
afterAll(({}, file) => {
  file.meta.processorSeconds = usedSeconds() - began;
});

function usedSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + (process.platform === 'linux' ? secondsOfChildren() : 0);
}

/** In ticks of a hundredth of a second. The name of the program, in parentheses, may contain spaces. */
function secondsOfChildren(): number {
  const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(13, 15).map(Number);
  return ((user ?? 0) + (system ?? 0)) / 100;
}
