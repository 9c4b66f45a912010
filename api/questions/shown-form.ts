import { z } from 'zod';
import { Stored } from '../runs/run-schemas.ts';

/** The part of a question's config that those see who answer it and may not read the workflow. */
export const ShownForm = z
  .object({
    collectionType: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    fields: z.array(Stored).optional().meta({ description: 'As the node has them; empty if there is a schema' }),
    formSchema: Stored.optional().meta({ description: 'JSON Schema of `submittedData`' }),
    formUischema: Stored.optional(),
    approveLabel: z.string().optional(),
    rejectLabel: z.string().optional(),
    cancelLabel: z.string().optional(),
    requireComment: z.boolean().optional(),
  })
  .meta({ id: 'ShownForm' });
