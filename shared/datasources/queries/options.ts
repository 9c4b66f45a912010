import { z } from 'zod';
import { InputDefinition } from '../../workflow/inputs.ts';

/** Fields that `dataQueryOptions` has for all datasource types, beside the type's own fields. */
export const QueryOptions = z
  .object({
    inputDefinitions: z.array(InputDefinition).max(100).default([]).meta({
      title: 'Inputs',
      description: 'Values that callers give; the query has them as {{inputs.name}}',
    }),
    timeoutSeconds: z
      .number()
      .min(0.1)
      .max(3600)
      .default(60)
      .meta({ title: 'Time limit (s)', description: 'Seconds after which the query is stopped, and fails' }),
    maxRows: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(10_000)
      .meta({ title: 'Rows at most', description: 'No more are read; the answer then says `truncated`' }),
    rowsPerPage: z.int().min(0).max(10_000).default(0).meta({
      title: 'Rows in a page',
      description: 'Rows of one answer; its cursor gets the next page within ten minutes. 0: all rows in one answer',
    }),
    cacheSeconds: z.int().min(0).max(86_400).default(0).meta({
      title: 'Cache (s)',
      description: 'Seconds for which a result is given again to calls with the same inputs. 0: never',
    }),
    transform: z.string().max(200_000).default('').meta({
      title: 'Transform',
      contentMediaType: 'text/javascript',
      description: 'JavaScript that makes another result of `data` and `inputs`, such as `return data.length;`',
    }),
  })
  .superRefine(({ rowsPerPage, cacheSeconds, transform }, check) => {
    if (rowsPerPage === 0) return;
    const refuse = (message: string) => check.addIssue({ code: 'custom', path: ['rowsPerPage'], message });
    if (transform.trim() !== '') refuse('cannot be used with transform, which needs the whole result');
    if (cacheSeconds > 0) refuse('cannot be used with cacheSeconds: pages are stored for one caller');
  });
export type QueryOptions = z.output<typeof QueryOptions>;
