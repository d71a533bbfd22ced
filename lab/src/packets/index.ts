export { Clock } from "./clock";
export { type PacketRun, PacketView, type PacketViewProps } from "./packet-view";
export { Playback } from "./playback";
