/** What the editor of code can colour and complete, as forms of the API name it. */
export type CodeLanguage = 'sql' | 'javascript' | 'json' | 'text';
