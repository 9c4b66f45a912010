import { z } from 'zod';

/** A field of a query that is `true` or `false`. */
export const Flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true');
