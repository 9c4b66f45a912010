/** Shapes of error answers. */
export const denied = { status: 403, body: { success: false, error: { code: 'PERMISSION_DENIED' } } };
export const conflict = { status: 409, body: { error: { code: 'CONFLICT' } } };
export const notFound = { status: 404, body: { error: { code: 'NOT_FOUND' } } };
export const malformed = { status: 400, body: { error: { code: 'VALIDATION_ERROR' } } };
