import { z } from 'zod';
import { QueryAnswer } from '#shared/messaging/queues/query-runs.ts';
import { ResultColumn } from '../http/fields/response-parts.ts';

const exampleResponse = {
  dataQueryResult: [
    { id: 1, total: '19.90' },
    { id: 4, total: '7.50' },
  ],
  columns: [
    { name: 'id', type: 'int4' },
    { name: 'total', type: 'numeric' },
  ],
  rowCount: 2,
  durationMs: 12.4,
  isCached: false,
};

export const DataQueryResponse = QueryAnswer.extend({ columns: z.array(ResultColumn).optional() }).meta({
  id: 'DataQueryAnswer',
  examples: [exampleResponse],
});
