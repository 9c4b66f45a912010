import type { Completion, CompletionSource } from '@codemirror/autocomplete';
import { keywordCompletionSource, PostgreSQL, type SQLNamespace, schemaCompletionSource } from '@codemirror/lang-sql';
import { LanguageSupport } from '@codemirror/language';
import type { Offered, Tables } from './offered.ts';

/** Statements are read for the names of tables up to this length. */
const MAX_READ = 50_000;

/** SQL: its words, schemas and tables, the columns of a table behind its name, and those of all tables that the text names. */
export function sqlSupport({ tables, quote }: Offered): LanguageSupport {
  const words = keywordCompletionSource(PostgreSQL);
  // Behind a dot stands a name.
  const keywords: CompletionSource = (context) => (context.matchBefore(/\.\w*$/) ? null : words(context));
  const sources = [keywords, ...(tables ? tableSources(tables, quote ?? '"') : [])];
  return new LanguageSupport(
    PostgreSQL.language,
    sources.map((autocomplete) => PostgreSQL.language.data.of({ autocomplete })),
  );
}

function tableSources(read: () => Promise<Tables>, quote: string): CompletionSource[] {
  const ofSchema = new WeakMap<Tables, CompletionSource>();
  const named: CompletionSource = async (context) => {
    if (!context.explicit && !context.matchBefore(/[\w."$]$/)) return null;
    const tables = await read();
    const source = ofSchema.get(tables) ?? schemaCompletionSource(namespaceOf(tables));
    ofSchema.set(tables, source);
    return source(context);
  };
  const columns: CompletionSource = async (context) => {
    const word = context.matchBefore(/(?<![\w."$])[a-z_]\w*$/i);
    if (!word) return null;
    const text = context.state.sliceDoc(0, MAX_READ);
    return { from: word.from, options: columnsNamed(text, await read(), quote), validFor: /^\w*$/ };
  };
  return [named, columns].map(untold);
}

/** Without the tables the other completions are left. */
function untold(source: CompletionSource): CompletionSource {
  return async (context) => {
    try {
      return await source(context);
    } catch {
      return null;
    }
  };
}

/** Tables of `public`, or of the only schema, are completed without it. */
function namespaceOf(tables: Tables) {
  const [only, ...others] = Object.keys(tables);
  const defaultSchema = tables.public || others.length > 0 ? 'public' : only;
  return { dialect: PostgreSQL, schema: escaped(tables), ...(defaultSchema && { defaultSchema }) };
}

/** A dot in a name would divide it. */
function escaped(tables: Tables): SQLNamespace {
  const renamed = <T, U>(all: Readonly<Record<string, T>>, each: (one: T) => U) =>
    Object.fromEntries(Object.entries(all).map(([name, one]) => [name.replaceAll('.', '\\.'), each(one)]));
  return renamed(tables, (own) =>
    renamed(own, (columns) => columns.map(({ name, type }) => ({ label: name, type: 'property', detail: type }))),
  );
}

function columnsNamed(text: string, tables: Tables, quote: string): Completion[] {
  const words = new Set(text.match(/[\w$]+/g));
  const found = Object.values(tables).flatMap((own) => Object.entries(own).filter(([table]) => words.has(table)));
  return found.flatMap(([table, columns]) =>
    columns.map(({ name, type }) => ({
      ...{ label: name, type: 'property', detail: `${table} ${type}`.trim() },
      apply: quoted(name, quote),
    })),
  );
}

function quoted(name: string, quote: string): string {
  return /^[a-z_][a-z_\d]*$/.test(name) ? name : `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
}
