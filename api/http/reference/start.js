'use strict';
{
  // Read by the zod inside the bundle: otherwise it tries to compile code, which the policy refuses.
  globalThis.__zod_globalConfig = { jitless: true };

  const { devEmail } = document.currentScript.dataset;

  async function readJSON(path, init) {
    const response = await fetch(path, init);
    if (!response.ok) throw new Error(`${path} answers ${response.status}`);
    return response.json();
  }

  /** A token of the development issuer, which answers on the machine of the server only, and a tenant to try with it. */
  async function readDevelopment() {
    if (!devEmail) return {};
    const headers = { 'content-type': 'application/json' };
    const { token } = await readJSON('/dev/token', { method: 'POST', headers, body: JSON.stringify({ email: devEmail }) });
    const { tenants } = await readJSON('/api/v1/tenants?limit=1', { headers: { authorization: `Bearer ${token}` } });
    return { token, tenantID: tenants[0]?.tenantID };
  }

  /** Fills the tenant into every path, in the examples and in what is sent. */
  function fillIn(content, tenantID) {
    const operations = Object.values(content.paths).flatMap((methods) => Object.values(methods));
    for (const { parameters } of operations)
      for (const parameter of parameters) if (parameter.name === 'tenantID') parameter.example = tenantID;
  }

  async function show(development) {
    const content = await readJSON('/openapi.json');
    const { token, tenantID } = await development.catch(() => ({}));
    if (tenantID) fillIn(content, tenantID);
    globalThis.Scalar.createApiReference('#reference', {
      content,
      // Nothing comes from another host, and nothing goes there.
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
      hideClientButton: true,
      persistAuth: false,
      documentDownloadType: 'json',
      defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
      generateOperationSlug: ({ operationId }) => operationId,
      ...(token && {
        authentication: { preferredSecurityScheme: 'idToken', securitySchemes: { idToken: { token } } },
      }),
    });
  }

  // Begins while the browser still loads the bundle, the next script of the page.
  const development = readDevelopment();
  document.addEventListener('DOMContentLoaded', () => show(development));
}
