import { useEffect, useRef, useSyncExternalStore } from 'react';

/** The editor that is open: a proposal is compared with its draft, and taken into it. */
export interface OpenDraft<Draft = unknown, Kinds = unknown> {
  workflowID: string;
  draft: Draft;
  kinds: Kinds;
  mayChange: boolean;
  onTake: (next: Draft) => void;
}

/** A query as it stands in a form. */
export interface ProposedQuery {
  datasourceID: string | null;
  title: string;
  dataQueryOptions: Readonly<Record<string, unknown>>;
}

/** The form of a query that is open. */
export interface OpenQuery {
  datasourceID: string | null;
  onTake: (query: ProposedQuery) => void;
}

/** The page that is open in its builder. */
export interface OpenPageDraft<Document = unknown> {
  document: Document;
  mayChange: boolean;
  onTake: (edit: (document: Document) => Document) => void;
}

/** Where the user is, for the assistant to know. */
export interface OpenPage {
  kind: 'workflow' | 'run' | 'query' | 'page';
  id?: string | undefined;
  title: string;
  isFailed?: boolean;
  /** Reads the open thing, the most important fields first: the others are left out where it is too much. */
  read: () => object | Promise<object>;
  /** Set by the editor alone, with its own types, which are in folders above this one. */
  workflow?: OpenDraft;
  query?: OpenQuery;
  /** Set by the builder of pages alone. */
  page?: OpenPageDraft;
}

/** Changes of workflows that are proposed, by the calls that propose them, the latest last. */
const proposals = new Map<string, { workflowID: string | null; next: unknown }>();
let opened: OpenPage | undefined;
let question: string | undefined;
let chosenStep: string | undefined;
let leftQuery: ProposedQuery | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}

/** Says what is open while the component is shown. */
export function useAsOpenPage(now: OpenPage): void {
  const latest = useRef(now);
  latest.current = now;
  useEffect(() => {
    // With every drawing: what a proposal is compared with changes as the user types.
    opened = now;
    tell();
  });
  useEffect(
    () => () => {
      if (opened !== latest.current) return;
      opened = undefined;
      tell();
    },
    [],
  );
}

export function useOpenPage(): OpenPage | undefined {
  return useSyncExternalStore(subscribe, () => opened);
}

/** Keeps the order of proposals: the latest one of a workflow is the one that its graph shows. */
export function useAsProposal(id: string, workflowID: string | null): void {
  useEffect(() => {
    if (!proposals.has(id)) proposals.set(id, { workflowID, next: undefined });
    tell();
    return () => {
      proposals.delete(id);
      tell();
    };
  }, [id, workflowID]);
}

/** Gives the draft with the proposal in it to the editor, while that is shown; undefined: nothing of it is left. */
export function useProposedDraft(id: string, workflowID: string, next: unknown): void {
  useEffect(() => {
    proposals.set(id, { workflowID, next });
    tell();
    return () => {
      if (proposals.has(id)) proposals.set(id, { workflowID, next: undefined });
      tell();
    };
  }, [id, workflowID, next]);
}

/** The draft with the latest proposal in it. */
export function useProposal(workflowID: string): unknown {
  return useSyncExternalStore(
    subscribe,
    () => [...proposals.values()].findLast((one) => one.workflowID === workflowID)?.next,
  );
}

/** The step that is chosen in the editor, if it is one alone. */
export function useChosenStep(selection: ReadonlySet<string>): void {
  const id = selection.size === 1 ? [...selection][0] : undefined;
  useEffect(() => {
    chosenStep = id;
    return () => {
      chosenStep = undefined;
    };
  }, [id]);
}

export function stepChosen(): string | undefined {
  return chosenStep;
}

/** The question that the button on the page of a failed run asks. */
export const EXPLAIN = 'Why did this run fail, and what can I do about it?';

/** Opens the assistant, which asks this. A question that ends in "…" is left for the user to go on with. */
export function askAssistant(text: string): void {
  question = text;
  tell();
}

export function useAsked(): string | undefined {
  return useSyncExternalStore(subscribe, () => question);
}

/** The question, once. */
export function takeAsked(): string | undefined {
  const asked = question;
  question = undefined;
  return asked;
}

/** Leaves a query for the form of a new one, which is opened next. */
export function leaveQuery(query: ProposedQuery): void {
  leftQuery = query;
}

export function takeLeftQuery(): ProposedQuery | undefined {
  const left = leftQuery;
  leftQuery = undefined;
  return left;
}
