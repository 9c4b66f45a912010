import { z } from 'zod';

/** Fields of a query in SQL. */
export const SQLQuery = z.object({
  queryType: z
    .literal('query')
    .default('query')
    .meta({ title: 'Kind of query', description: 'Always `query`: a statement in SQL' }),
  query: z.string().min(1).max(500_000).meta({
    title: 'SQL',
    contentMediaType: 'application/sql',
    description:
      'One statement, such as select * from orders where id = {{inputs.id}}. Values are bound, so no quotes belong around them',
  }),
});
