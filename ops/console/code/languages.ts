import type { Extension } from '@codemirror/state';
import { whenServed } from '../client/when-served.ts';
import type { CodeLanguage } from './language.ts';
import type { Offered } from './offered.ts';

const languages: Record<CodeLanguage, (offered: Offered) => Promise<Extension>> = {
  sql: async (offered) => (await import('./sql.ts')).sqlSupport(offered),
  javascript: async (offered) => (await import('./javascript.ts')).javascriptSupport(offered),
  json: async () => (await import('./json.ts')).jsonSupport,
  text: async () => [],
};

/** The parser of a language and its completions, whose code is loaded when they are first needed. */
export function languageOf(language: CodeLanguage, offered: Offered): Promise<Extension> {
  return whenServed(() => (languages[language] ?? languages.text)(offered));
}
