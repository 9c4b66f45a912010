/** `connectionOption` is "Connection option". */
export function wordsOfKey(key: string): string {
  const words = key.replace(/(?<=[a-z])[A-Z](?=[a-z])/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
