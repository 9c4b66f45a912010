import { z } from 'zod';
import { Json } from '../json.ts';

export const PairName = z
  .string()
  .min(1)
  .max(200)
  .meta({ title: 'Name', description: 'As it is sent, such as X-Request-Source' });

/** Headers or parameters of one request. */
export const Pairs = z
  .array(
    z.object({
      key: PairName,
      value: Json.default('').meta({ title: 'Value', description: 'What is sent: a text, or a template' }),
    }),
  )
  .max(50)
  .default([]);
