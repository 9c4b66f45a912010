import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { readJSON } from '../../core/lossless-json.ts';
import type { AIMessage } from './message.ts';

/** Tells a model that its answer must be an object. */
export const objectRule = 'Answer with one JSON object and nothing else: no text before or after it, no code fence.';

/** The object in an answer. Models write a fence or a sentence around it although they are asked not to. */
export function objectIn(text: string): JsonObject | undefined {
  const [from, to] = [text.indexOf('{'), text.lastIndexOf('}')];
  if (from < 0 || to < from) return undefined;
  try {
    const value = readJSON(text.slice(from, to + 1));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Limit of characters in the description of faults that a model gets. */
export const MAX_FAULTS = 2_000;

/** Messages that continue a conversation after an answer that was not the requested object. */
export function correction(answer: string, complaint: string): AIMessage[] {
  return [
    { role: 'assistant', content: answer || '{}' },
    { role: 'user', content: `${complaint}\nAnswer with the whole object, corrected.` },
  ];
}
