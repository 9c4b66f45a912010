import { z } from 'zod';
import { InputDefinition } from '../workflow/inputs.ts';

/** What `dataQueryOptions` has for every type of datasource; the type's own fields stand beside these. */
export const QueryOptions = z.object({
  inputDefinitions: z.array(InputDefinition).max(100).default([]).meta({ title: 'Inputs' }),
  timeoutSeconds: z.number().min(0.1).max(3600).default(60).meta({ title: 'Timeout (s)' }),
  /** More rows than these are not read; the answer then says `truncated`. */
  maxRows: z.int().min(1).max(100_000).default(10_000).meta({ title: 'Rows at most' }),
  /** How long an answer may be given again to the same inputs; 0 never. */
  cacheSeconds: z.int().min(0).max(86_400).default(0).meta({ title: 'Cache (s)' }),
  /** The body of a function over `data` (the result) and `inputs`; what it returns is the result. */
  transform: z.string().max(200_000).default('').meta({ title: 'Transform', description: 'return data;' }),
});
export type QueryOptions = z.output<typeof QueryOptions>;
