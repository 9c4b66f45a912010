import type { z } from 'zod';
import { tenantRoute } from '../../../context/routes.ts';
import { findReadableRun, VALUES } from '../../../runs/find-run.ts';
import { InstanceID } from '../../../runs/run-schemas.ts';
import { findLogLines, type LogRow } from './log-lines.ts';
import { LogQuery, Logs } from './schemas.ts';

export const readLogs = tenantRoute({
  name: 'getWorkflowInstanceLogs',
  method: 'get',
  path: '/workflows/instances/:instanceID/logs',
  summary: 'Read the log of a run',
  description:
    'Returns what the nodes of a run have printed (`console` in code, log nodes) and what became of them, in order, with times and sizes.',
  permission: 'workflow.read',
  filter: true,
  alternative: 'workflow.execute',
  params: InstanceID,
  query: LogQuery,
  response: Logs,

  async handle({ params, query, em, require, caller }, { pool }) {
    const run = await findReadableRun({ em, require, caller }, params.instanceID, { without: VALUES });
    const rows = await findLogLines(pool, run.id, query);
    const shown = rows.slice(0, query.limit);
    const last = shown.at(-1);
    return {
      lines: shown.map(presentLine),
      nextCursor: rows.length > query.limit && last ? `${last.seq}.${last.n}` : null,
    };
  },
});

function presentLine({ n: _, at, frame, data, ...line }: LogRow): z.input<typeof Logs>['lines'][number] {
  return { ...line, at: at.toISOString(), frame: frame ?? [], ...(data !== null && { data }) };
}
