/** Loads the package with the first call: an idle worker is smaller without it. */
export async function loadSDK() {
  // Without this setting the package writes warnings to the console.
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  return await import('ai');
}
