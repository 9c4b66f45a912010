import { forget, keep } from '../client/keep.ts';
import { DRAFTS, getSession } from '../client/session.ts';
import type { Schemas } from '../client/types.ts';
import { isObject } from '../ui/is-object.ts';
import { type Draft, draftOf } from './draft.ts';

/** Changes of a workflow that are not saved, as this browser keeps them for the person who made them. */
export interface StoredDraft {
  /** Milliseconds since 1970. */
  at: number;
  /** The version that they are changes of. */
  versionNumber: number;
  title: string;
  draft: Draft;
}

/** A browser has room for about 5,000,000 characters. */
const MAX_LENGTH = 400_000;
const MAX_DRAFTS = 8;

function keyOf(workflowID: string): string {
  return `${DRAFTS}${getSession()?.email ?? ''} ${workflowID}`;
}

/** The oldest of too many drafts is dropped, and one that is too large is not stored. */
export function keepDraft(workflowID: string, stored: StoredDraft, store: Storage = localStorage): void {
  const text = JSON.stringify(stored);
  // A draft that is there would be older than the last change.
  dropDraft(workflowID, store);
  if (text.length > MAX_LENGTH) return;
  const others = Object.keys(store).filter((key) => key.startsWith(DRAFTS));
  const byAge = others.map((key) => ({ key, at: parsed(store.getItem(key))?.at ?? 0 }));
  for (const { key } of byAge.toSorted((one, other) => other.at - one.at).slice(MAX_DRAFTS - 1)) store.removeItem(key);
  keep(keyOf(workflowID), text, store);
}

export function dropDraft(workflowID: string, store: Storage = localStorage): void {
  forget(keyOf(workflowID), store);
}

/** The stored draft, if it differs from what is saved. */
export function storedDraft(workflow: Schemas['Workflow'], store: Storage = localStorage): StoredDraft | undefined {
  const stored = parsed(store.getItem(keyOf(workflow.id)));
  if (!stored) return undefined;
  const isSaved = stored.title === workflow.title && JSON.stringify(stored.draft) === JSON.stringify(draftOf(workflow));
  return isSaved ? undefined : stored;
}

function parsed(text: string | null): StoredDraft | undefined {
  try {
    const stored: unknown = JSON.parse(text ?? 'null');
    if (!isObject(stored) || !isObject(stored.draft)) return undefined;
    const { nodes, edges, notes, options } = stored.draft;
    const isDraft = [nodes, edges, notes].every(Array.isArray) && isObject(options);
    // Safe: written by this module.
    return isDraft ? (stored as unknown as StoredDraft) : undefined;
  } catch {
    return undefined;
  }
}
