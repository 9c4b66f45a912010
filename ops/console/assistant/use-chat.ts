import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { askModel, type ChatIDs, chatRead, chatsRead, resumeAnswer, stopAnswer } from '../client/assistant.ts';
import type { ChatMessage, Chunk } from '../client/chat-parts.ts';
import { every } from '../client/every.ts';
import { newID } from '../client/new-id.ts';
import { APIError } from '../client/rest.ts';
import { type Decision, decided, waitingIn, withChunk } from './parts.ts';

/** While a call waits, it may be decided in another tab. */
const AGAIN_MS = 5_000;

/** Reads what is open, which may take requests. */
type Where = () => Promise<object | null>;

/** A conversation: what is stored, and the answer that is being written. */
export function useChat(ids: ChatIDs) {
  const { tenantID, chatID } = ids;
  const queries = useQueryClient();
  const stored = useQuery({
    ...chatRead(ids),
    refetchInterval: every((messages) => (waitingIn(messages ?? []).length > 0 ? AGAIN_MS : false)),
  });
  /** The conversation while an answer comes; undefined: what is stored. */
  const [live, setLive] = useState<readonly ChatMessage[]>();
  const [failure, setFailure] = useState<{ error: Error; message: ChatMessage | undefined; context: object | null }>();
  const [decisions, setDecisions] = useState<ReadonlyMap<string, Decision>>(new Map());
  const reading = useRef<AbortController>(undefined);
  const isStopped = useRef(false);
  useEffect(() => () => reading.current?.abort(), []);

  const follow = useCallback(
    async (
      begun: readonly ChatMessage[],
      read: (reading: { signal: AbortSignal; onChunk: (chunk: Chunk) => void }) => Promise<void>,
      { isExpected = true } = {},
    ): Promise<Error | undefined> => {
      reading.current?.abort();
      const own = new AbortController();
      reading.current = own;
      let said: Error | undefined;
      let shown = begun;
      if (isExpected) setLive(shown);
      const onChunk = (chunk: Chunk) => {
        if (chunk.type === 'error') said = new Error(chunk.errorText);
        shown = withChunk(shown, chunk);
        if (reading.current === own) setLive(shown);
      };
      const error = await read({ signal: own.signal, onChunk }).then(
        () => said,
        (thrown: Error) => (own.signal.aborted ? undefined : thrown),
      );
      if (reading.current !== own) return undefined;
      if (shown === begun && !isExpected) {
        reading.current = undefined;
        return undefined;
      }
      await queries.refetchQueries({ queryKey: chatRead({ tenantID, chatID }).queryKey });
      void queries.invalidateQueries({ queryKey: chatsRead(tenantID).queryKey });
      if (reading.current !== own) return undefined;
      reading.current = undefined;
      setLive(undefined);
      return error;
    },
    [queries, tenantID, chatID],
  );

  const isRead = stored.data !== undefined;
  const latest = useRef(stored.data);
  latest.current = stored.data;
  useEffect(() => {
    // An answer that was being written when the page was left is read on.
    if (isRead && !reading.current)
      void follow(latest.current ?? [], (next) => resumeAnswer({ tenantID, chatID }, next), {
        isExpected: false,
      });
  }, [isRead, follow, tenantID, chatID]);

  const messages = live ?? stored.data ?? [];

  async function send(message: ChatMessage, where: Where): Promise<void> {
    setFailure(undefined);
    setDecisions(new Map());
    isStopped.current = false;
    const before = messages.filter(({ id }) => id !== message.id);
    const shown = message.role === 'user' ? [...before, message] : messages;
    let context: object | null = null;
    // The message is shown, and no other can be sent, while what is open is read.
    const error = await follow(shown, async (next) => {
      context = await where();
      await askModel(ids, { message, context }, next);
    });
    const isDecided = message.role === 'assistant';
    // That it was stopped is no failure.
    if (error && !isStopped.current) setFailure({ error, message: isDecided ? undefined : message, context });
  }

  return {
    messages,
    isRead,
    error: failure?.error ?? stored.error ?? undefined,
    isAnswering: live !== undefined,
    decisions,
    ask: (text: string, where: Where) => send({ id: newID(), role: 'user', parts: [{ type: 'text', text }] }, where),
    /** Asks again what has failed: the same message takes its own context. */
    retry: failure?.message && (() => failure.message && send(failure.message, async () => failure.context)),
    async stop() {
      isStopped.current = true;
      await stopAnswer(ids).catch((error: Error) => {
        isStopped.current = false;
        setFailure({ error, message: undefined, context: null });
      });
    },
    /** Decides a call. The decisions are sent when all that wait are decided. */
    async decide(toolCallId: string, decision: Decision, where: Where) {
      const next = new Map(decisions).set(toolCallId, decision);
      setDecisions(next);
      const waiting = waitingIn(messages);
      const parts = waiting.flatMap((part) => {
        const own = next.get(part.toolCallId ?? '');
        return own ? [decided(part, own)] : [];
      });
      const last = messages.at(-1);
      if (last && parts.length === waiting.length) await send({ ...last, parts }, where);
    },
  };
}

/** The error of a provider or of the service, in words that say what to do. */
export function wordsOfFailure(error: Error): string {
  if (!(error instanceof APIError)) return error.message;
  const { reason } = error.details as { reason?: unknown };
  const known = typeof reason === 'string' && Object.hasOwn(words, reason) ? words[reason] : undefined;
  if (error.status === 409 && reason === undefined && /does not wait/i.test(error.message))
    return 'This was decided meanwhile, perhaps in another tab. The conversation shows how.';
  return known ? `${known} (${error.message})` : error.message;
}

const words: Readonly<Record<string, string>> = {
  authentication: 'The provider does not accept the key. Someone who may change the settings can enter another one.',
  'not-found': 'The provider does not know the model, or the address is not that of its API.',
  'not-allowed': 'This address is not allowed for connections of this deployment.',
  unreachable: 'The provider cannot be reached. Is it running, and is the address right?',
  timeout: 'The provider has not answered in time.',
  provider: 'The provider takes no more requests at the moment. Try again in a while.',
  'invalid-answer': 'The answer of the provider cannot be read. Perhaps it is not of the kind that was chosen.',
};
