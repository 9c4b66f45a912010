import type { JsonObject } from '#shared/core/json.ts';
import type { log } from '#shared/workflow/nodes/kinds/log.ts';
import { type LogLine, MAX_LINE_LENGTH } from '#shared/workflow/run-log.ts';
import { toText } from '../compare.ts';
import type { Executor } from '../executor.ts';

export const runLog: Executor<typeof log> = ({ config: { level, message, data }, run }) => {
  const text = toText(message);
  const output: JsonObject = { level, message: text, ...(data !== undefined && { data }), success: true };
  const isLarge = data !== undefined && JSON.stringify(data).length > MAX_LINE_LENGTH;
  const line: LogLine = {
    level,
    at: new Date().toISOString(),
    message: text.length > MAX_LINE_LENGTH ? `${text.slice(0, MAX_LINE_LENGTH)}…` : text,
    ...(data !== undefined && !isLarge && { data }),
  };
  run.print({ lines: [line], cut: { lines: 0, bytes: 0 } });
  return { output, exit: 'output' };
};
