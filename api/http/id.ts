import { z } from 'zod';

/** An id as the policy and the rows have it: the same id in capitals must not be another object. */
export const ID = z.uuid().toLowerCase();
