import { z } from 'zod';

/** What the answer to an approval says. */
export const Decision = z.enum(['approve', 'reject']);
