import { z } from 'zod';

/** Why an asset is saved. */
export const ChangeNote = z
  .string()
  .max(1_000)
  .nullish()
  .describe('Kept with the version that this saves: why it was changed');
