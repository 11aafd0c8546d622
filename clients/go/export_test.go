package memlane

// FromRPC makes an *Error of what a call on Client.Conn ended with.
var FromRPC = fromRPC
