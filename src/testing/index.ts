/**
 * `dodici/testing`: a server that misbehaves on demand, for testing any HTTP/2 client.
 *
 * @module
 */

export type { BadFrame } from './bad-frames.ts'
export { BAD_FRAMES } from './bad-frames.ts'
export type { BadHeaders } from './bad-headers.ts'
export { BAD_HEADERS } from './bad-headers.ts'
export type { ConnectionScript, FaultConnection } from './fault-connection.ts'
export type { FaultServerOptions } from './fault-options.ts'
export type { FaultResponse, FieldsInit } from './fault-response.ts'
export type {
  FaultServer,
  Preset,
  RequestMatch,
  RequestRuleOptions,
  RequestScript,
  SocketScript,
} from './fault-server.ts'
export { createFaultServer } from './fault-server.ts'
export type { FaultSocket } from './fault-socket.ts'
export type { FaultStream, TrickleOptions } from './fault-stream.ts'
export type { Flood, FloodOptions, FloodRounds } from './floods.ts'
export { FLOODS } from './floods.ts'
export type { GoAwayInit } from './frame-connection.ts'
export type { ErrorCode, ErrorName, SettingsEntry, SettingsInit, SettingsObject } from './frames.ts'
export { frames } from './frames.ts'
export type { BombOptions, HeaderBomb } from './header-bombs.ts'
export type { Field } from './hpack.ts'
export type { RetiringOptions } from './presets.ts'
export { presets } from './presets.ts'
export type { RecordedFrame, RecordedGoAway } from './records.ts'
export type { Match } from './rules.ts'
export type { TlsAlert } from './tls-transport.ts'
