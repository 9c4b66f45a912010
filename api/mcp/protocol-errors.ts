import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/** An error of the service. */
export function internalError(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, message);
}
