/** Requests to workers and their answers as sealed JSON. They may have many megabytes, so other work runs between the steps. */
import { runCooperatively, yieldToEventLoop } from '../concurrency/cooperative.ts';
import { AppError } from '../core/errors.ts';
import { isUnreadableSecret, type KeyRing } from '../core/key-ring.ts';
import { parseInPieces } from '../core/parse-in-pieces.ts';

/** Characters of a text that is sealed, opened or parsed in a turn of the event loop of its own: to seal five megabytes takes 10 ms. */
const LARGE = 500_000;

/** Seals the JSON of a request or an answer. */
export async function sealMessage(secrets: KeyRing, text: string, context: string): Promise<string> {
  await yieldForLarge(text);
  const sealed = secrets.seal(text, context);
  await yieldForLarge(text);
  return sealed;
}

/** Opens a sealed request or answer, and parses it. */
export async function openMessage(secrets: KeyRing, sealed: string, context: string): Promise<unknown> {
  await yieldForLarge(sealed);
  const text = open(secrets, sealed, context);
  await yieldForLarge(text);
  return text.length > LARGE ? await runCooperatively(parseInPieces(text)) : JSON.parse(text);
}

/** Each process must be able to open what any other has sealed. */
function open(secrets: KeyRing, sealed: string, context: string): string {
  try {
    return secrets.open(sealed, context);
  } catch (error) {
    if (!isUnreadableSecret(error)) throw error;
    throw new AppError(
      'INTERNAL_ERROR',
      'The processes of this deployment have different keys: set SECRETS_KEYS the same for all',
    );
  }
}

async function yieldForLarge(text: string): Promise<void> {
  if (text.length > LARGE) await yieldToEventLoop();
}
