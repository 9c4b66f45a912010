import { z } from 'zod';
import { quote } from '#shared/core/quote.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { LogLevel } from '#shared/workflow/nodes/kinds/log.ts';
import { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import { exampleLogLine } from '../examples.ts';

/** The position of a line: the number of its event, and its number among the lines of the event. */
const LogCursor = z
  .string()
  .max(100)
  .transform((text, check) => {
    const [, seq, n] = /^(\d{1,15})\.(\d{1,10})$/.exec(text) ?? [];
    // The second number has four bytes.
    if (Number(n) < 2 ** 31) return { seq: Number(seq), n: Number(n) };
    check.addIssue({
      code: 'custom',
      message: `expected the nextCursor of a page of this log, received ${quote(text)}`,
    });
    return z.NEVER;
  });

export const LogQuery = z.object({
  level: LogLevel.default('debug').describe('The least important level that is shown'),
  nodeID: z.string().min(1).max(255).optional(),
  q: z.string().min(1).max(200).optional().describe('A part of the message, in upper or lower case'),
  limit: NumberText(z.int().min(1).max(1_000)).prefault(200),
  cursor: LogCursor.optional().describe('The `nextCursor` of the page before'),
});

const LogLine = z
  .object({
    seq: z.int().describe('Of the event that it belongs to'),
    at: z.iso.datetime(),
    source: z.enum(['node', 'engine']).describe('Written by the node itself, or about it'),
    level: LogLevel,
    nodeID: z.string().nullable().describe('Null for lines about the run'),
    iteration: z.int(),
    frame: IterationPath,
    attempt: z.int(),
    message: z.string(),
    data: z.unknown().optional(),
  })
  .meta({ id: 'WorkflowLogLine', examples: [exampleLogLine] });

export const Logs = z
  .object({
    lines: z.array(LogLine),
    nextCursor: z.string().nullable().describe('For `cursor`; null at the end, which moves while the run goes on'),
  })
  .meta({ id: 'WorkflowLogPage' });
