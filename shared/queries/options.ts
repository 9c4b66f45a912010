import { z } from 'zod';
import { InputDefinition } from '../workflow/inputs.ts';

/** Fields that `dataQueryOptions` has for all datasource types, beside the type's own fields. */
export const QueryOptions = z
  .object({
    inputDefinitions: z.array(InputDefinition).max(100).default([]).meta({ title: 'Inputs' }),
    timeoutSeconds: z.number().min(0.1).max(3600).default(60).meta({ title: 'Timeout (s)' }),
    /** No more rows are read; the answer then says `truncated`. */
    maxRows: z.int().min(1).max(1_000_000).default(10_000).meta({ title: 'Rows at most' }),
    /** Rows in one answer; the pages that follow are kept for a while. 0: all rows are in one answer. */
    rowsPerPage: z.int().min(0).max(10_000).default(0).meta({ title: 'Rows in a page', description: '0: no pages' }),
    /** How long a result may be reused for the same inputs; 0: never. */
    cacheSeconds: z.int().min(0).max(86_400).default(0).meta({ title: 'Cache (s)' }),
    /** The body of a function over `data` (the result) and `inputs`; what it returns is the result. */
    transform: z.string().max(200_000).default('').meta({ title: 'Transform', description: 'return data;' }),
  })
  .superRefine(({ rowsPerPage, cacheSeconds, transform }, check) => {
    if (rowsPerPage === 0) return;
    const refuse = (message: string) => check.addIssue({ code: 'custom', path: ['rowsPerPage'], message });
    if (transform.trim() !== '') refuse('cannot be used with transform, which needs the whole result');
    if (cacheSeconds > 0) refuse('cannot be used with cacheSeconds: pages are stored for one caller');
  });
export type QueryOptions = z.output<typeof QueryOptions>;
