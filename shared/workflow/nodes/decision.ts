import { z } from 'zod';

/** The decision in the answer to an approval. */
export const Decision = z.enum(['approve', 'reject']);
