/** Languages that the code editor can colour and complete, as forms of the API name them. */
export type CodeLanguage = 'sql' | 'javascript' | 'json' | 'text';
