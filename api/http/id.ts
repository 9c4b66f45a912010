import { z } from 'zod';

/** An id in lower case, as in policy and rows: the same id in capitals must not be another object. */
export const ID = z.uuid().toLowerCase();
