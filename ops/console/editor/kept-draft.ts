import { forget, keep } from '../client/keep.ts';
import { DRAFTS, getSession } from '../client/session.ts';
import type { Schemas } from '../client/types.ts';
import { isObject } from '../ui/is-object.ts';
import { type Draft, draftOf } from './draft.ts';

/** Changes of a workflow that are not saved, as this browser keeps them for the person who made them. */
export interface KeptDraft {
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

/** Of too many drafts the oldest is dropped, and one that is too large is not kept. */
export function keepDraft(workflowID: string, kept: KeptDraft, store: Storage = localStorage): void {
  const text = JSON.stringify(kept);
  // What is there would be older than what was changed last.
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

/** What is kept and differs from what is saved. */
export function keptDraft(workflow: Schemas['Workflow'], store: Storage = localStorage): KeptDraft | undefined {
  const kept = parsed(store.getItem(keyOf(workflow.id)));
  if (!kept) return undefined;
  const isSaved = kept.title === workflow.title && JSON.stringify(kept.draft) === JSON.stringify(draftOf(workflow));
  return isSaved ? undefined : kept;
}

function parsed(text: string | null): KeptDraft | undefined {
  try {
    const kept: unknown = JSON.parse(text ?? 'null');
    if (!isObject(kept) || !isObject(kept.draft)) return undefined;
    const { nodes, edges, notes, options } = kept.draft;
    const isDraft = [nodes, edges, notes].every(Array.isArray) && isObject(options);
    // Safe: written by this module.
    return isDraft ? (kept as unknown as KeptDraft) : undefined;
  } catch {
    return undefined;
  }
}
