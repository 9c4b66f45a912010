/** `connectionOption` is "Connection option". */
export function wordsOfKey(key: string): string {
  const words = key.replace(/(?<=[a-z])[A-Z](?=[a-z])/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A name of the API: `aiTokensPerDay` is "AI tokens per day", and `delete_workflow` is "Delete workflow". */
export function wordsOfName(name: string): string {
  const words = name
    .replaceAll('_', ' ')
    .replace(/(?<=[a-z\d])[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase()
    .replace(/\boauth\b/g, 'OAuth')
    .replace(/\b(?:ai|api|csv|id|json|mcp|sql|url)(?=s?\b)/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}
