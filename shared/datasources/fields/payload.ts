import { z } from 'zod';
import { Json } from '../../core/json.ts';

/** How bytes of messages and values are written in queries and results. */
export const encoding = z.enum(['text', 'base64']).default('text').meta({
  title: 'Encoding',
  description: 'How the bytes are written: `text` is UTF-8, `base64` is for all other bytes',
});

/** The payload that is sent. */
export function message(title: string) {
  return Json.default('').meta({
    title,
    description: 'A text, or a template such as {{inputs.message}}. Other values than text are sent as JSON',
  });
}
