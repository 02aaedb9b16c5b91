module sharespec/secondcore

go 1.23.0
