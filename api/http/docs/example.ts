import type { Operation } from '../openapi/types.ts';

/** A command for a shell in which the path's ids and TOKEN are set; the page puts its own origin in. */
export function curlFor(method: string, path: string, { operation }: { operation: Operation }): string {
  const url = `http://localhost:8080${path.replace(/\{(\w+)\}/g, '$$$1')}`;
  const lines = [method === 'get' ? `curl "${url}"` : `curl -X ${method.toUpperCase()} "${url}"`];
  if (operation.security.length > 0) lines.push('-H "Authorization: Bearer $TOKEN"');
  if (operation.requestBody?.content['multipart/form-data']) lines.push("-F 'file=@image.png'");
  else if (operation.requestBody) {
    const body = Object.values(operation.requestBody.content)[0]?.example;
    lines.push("-H 'content-type: application/json'", `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`);
  }
  return lines.join(' \\\n  ');
}
