import type { CompletionSource } from '@codemirror/autocomplete';
import { keywordCompletionSource, PostgreSQL, schemaCompletionSource } from '@codemirror/lang-sql';
import { LanguageSupport } from '@codemirror/language';
import type { Offered, Tables } from './offered.ts';

/** Statements are read for the names of tables up to this length. */
const MAX_READ = 50_000;

/** SQL: its words, schemas and tables, the columns of a table behind its name, and those of all tables that the text names. */
export function sqlSupport({ tables }: Offered): LanguageSupport {
  const words = keywordCompletionSource(PostgreSQL);
  // Behind a dot stands a name.
  const keywords: CompletionSource = (context) => (context.matchBefore(/\.\w*$/) ? null : words(context));
  const sources = [keywords, ...(tables ? tableSources(tables) : [])];
  return new LanguageSupport(
    PostgreSQL.language,
    sources.map((autocomplete) => PostgreSQL.language.data.of({ autocomplete })),
  );
}

function tableSources(read: () => Promise<Tables>): CompletionSource[] {
  const ofSchema = new WeakMap<Tables, CompletionSource>();
  const named: CompletionSource = async (context) => {
    if (!context.explicit && !context.matchBefore(/[\w."$]$/)) return null;
    const tables = await read();
    const source = ofSchema.get(tables) ?? schemaCompletionSource({ ...shared, schema: escaped(tables) });
    ofSchema.set(tables, source);
    return source(context);
  };
  const columns: CompletionSource = async (context) => {
    const word = context.matchBefore(/(?<![\w."$])[a-z_]\w*$/i);
    if (!word) return null;
    const text = context.state.sliceDoc(0, MAX_READ);
    return { from: word.from, options: columnsNamed(text, await read()), validFor: /^\w*$/ };
  };
  return [named, columns].map(untold);
}

const shared = { dialect: PostgreSQL, defaultSchema: 'public' };

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

/** A dot in a name would divide it. */
function escaped(tables: Tables): Tables {
  const renamed = <T>(all: Readonly<Record<string, T>>) =>
    Object.entries(all).map(([name, one]): [string, T] => [name.replaceAll('.', '\\.'), one]);
  return Object.fromEntries(renamed(tables).map(([name, own]) => [name, Object.fromEntries(renamed(own))]));
}

function columnsNamed(text: string, tables: Tables) {
  const words = new Set(text.match(/[\w$]+/g));
  const found = Object.values(tables).flatMap((own) => Object.entries(own).filter(([table]) => words.has(table)));
  return found.flatMap(([table, columns]) =>
    columns.map((label) => ({ label, type: 'property', detail: table, apply: quoted(label) })),
  );
}

function quoted(name: string): string {
  return /^[a-z_][a-z_\d]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
