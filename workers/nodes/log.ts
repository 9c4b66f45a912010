import type { log } from '#shared/nodes/log.ts';
import { toText } from './compare.ts';
import type { Executor } from './executor.ts';

export const runLog: Executor<typeof log> = ({ config: { level, message, data } }) => ({
  output: { level, message: toText(message), ...(data !== undefined && { data }), success: true },
  exit: 'output',
});
