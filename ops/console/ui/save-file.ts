/** Hands a file to the browser to save. */
export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // A browser takes the file over after this turn.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
