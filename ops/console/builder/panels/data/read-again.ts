import { pathText } from '../../../values/path.ts';
import type { PageDocument } from '../../document.ts';
import { type Source, sourcesOf, withSource } from '../config.ts';

/** The server takes no more of them. */
const MAX_NAMES = 100;

/** Whether it may change something each time that it is run: a workflow, and a query that is run by actions alone. */
export function isChanging({ type, triggerMode }: Source): boolean {
  return type === 'workflow' || (type === 'query' && triggerMode === 'manual');
}

/** The name whose change tells that it has begun, gone on or ended, as `refreshOn` has it. */
export function stateNameOf({ type, alias }: Pick<Source, 'type' | 'alias'>): string | undefined {
  return pathText([type === 'workflow' ? 'workflows' : 'queries', alias, 'status'], 'template');
}

/** The queries of a page that are read by themselves, and the runs that it shows. */
export function readingIn({ config }: Pick<PageDocument, 'config'>): Source[] {
  return sourcesOf(config).filter((one) => (one.type === 'query' || one.type === 'runs') && !isChanging(one));
}

/** The names of all that may change something on a page: a query that is added is read again behind them. */
export function changesIn({ config }: Pick<PageDocument, 'config'>): string[] {
  const names = sourcesOf(config)
    .filter(isChanging)
    .flatMap((one) => stateNameOf(one) ?? []);
  return names.slice(0, MAX_NAMES);
}

function namesOf({ refreshOn }: Source): unknown[] {
  return Array.isArray(refreshOn) ? refreshOn : [];
}

/** The queries that are read again once this one has ended. */
export function followersOf(document: Pick<PageDocument, 'config'>, source: Source): string[] {
  const name = stateNameOf(source);
  return readingIn(document).flatMap((one) => (namesOf(one).includes(name) ? [one.alias] : []));
}

/** The document in which these queries alone are read again once this one has ended. */
export function withFollowers(document: PageDocument, source: Source, aliases: readonly string[]): PageDocument {
  const name = stateNameOf(source);
  if (name === undefined) return document;
  return readingIn(document).reduce((next, one) => {
    const others = namesOf(one).filter((other) => other !== name);
    const names = aliases.includes(one.alias) && others.length < MAX_NAMES ? [...others, name] : others;
    if (names.length === namesOf(one).length) return next;
    const { refreshOn: _, ...rest } = one;
    return withSource(next, one.alias, { ...rest, ...(names.length > 0 && { refreshOn: names }) });
  }, document);
}

/** The document in which all queries follow what may change something, unless some do already. */
export function followedByAll(document: PageDocument, type: Source['type'], alias: string): PageDocument {
  const source = sourcesOf(document.config).find((one) => one.type === type && one.alias === alias);
  if (!source || !isChanging(source) || followersOf(document, source).length > 0) return document;
  return withFollowers(
    document,
    source,
    readingIn(document).map((one) => one.alias),
  );
}
